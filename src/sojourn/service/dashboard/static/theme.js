// Runs before anything is drawn: marks that scripts run, applies the theme, repairs the language.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("sojourn-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // Storage is not allowed: use the system's theme.
  }
  try {
    new Intl.NumberFormat(navigator.language);
  } catch {
    // Under the locale "C" browsers report "en-US@posix", which makes uPlot throw.
    Object.defineProperty(navigator, "language", { value: "en-US" });
  }
})();
