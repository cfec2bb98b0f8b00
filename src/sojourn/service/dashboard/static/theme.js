// Before anything is drawn: scripts work, and the reader may have chosen a theme.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("sojourn-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // Storage is not allowed here: the system's theme will do.
  }
})();
