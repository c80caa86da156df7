// Swagger UI has no dark colours, so the page turns its light ones around; the choice of the
// playground holds here, too.
let theme = null;
try {
  theme = localStorage.getItem("theme");
} catch {
  // Storage may be forbidden; then the system decides.
}
const dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.classList.toggle("dark", dark);
SwaggerUIBundle({url: "/openapi.json", dom_id: "#ui", deepLinking: true});
