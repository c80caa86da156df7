// The colours: the system's, until the button says otherwise. Loaded before the page is drawn.
(() => {
  const root = document.documentElement;

  // A browser may forbid storage altogether; then the choice lasts as long as the page.
  const remembered = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  };

  const remember = (theme) => {
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // as said above
    }
  };

  const isDark = () =>
    root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;

  const saved = remembered();
  if (saved === "dark" || saved === "light") root.dataset.theme = saved;

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => {
      button.textContent = isDark() ? "Light" : "Dark";
    };
    show();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      remember(root.dataset.theme);
      show();
    });
  });
})();
