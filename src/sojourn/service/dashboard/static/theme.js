// Before anything is drawn: scripts work, the reader may have chosen a theme, and has a language.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("sojourn-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // Storage is not allowed here: the system's theme will do.
  }
  try {
    new Intl.NumberFormat(navigator.language);
  } catch {
    // Under the locale "C" browsers say "en-US@posix", which stops uPlot and with it the charts.
    Object.defineProperty(navigator, "language", { value: "en-US" });
  }
})();
