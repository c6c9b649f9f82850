// The passage of a statement opens on hover and focus; without scripts a click opens it.
const open = (prov) => {
  prov.open = true;
  const box = prov.getBoundingClientRect();
  prov.classList.toggle("leftwards", box.left + 440 > innerWidth && box.right > 440);
};

export const start = (root) => {
  for (const prov of root.querySelectorAll("details.prov")) {
    let kept = false, timer = 0;
    const close = () => { timer = setTimeout(() => { if (!kept) prov.open = false; }, 180); };
    prov.addEventListener("mouseenter", () => { clearTimeout(timer); open(prov); });
    prov.addEventListener("mouseleave", close);
    prov.addEventListener("focusin", () => { clearTimeout(timer); if (prov.querySelector("summary").matches(":focus-visible")) open(prov); });
    prov.addEventListener("focusout", (event) => { if (!prov.contains(event.relatedTarget)) { kept = false; close(); } });
    prov.querySelector("summary").addEventListener("click", (event) => { event.preventDefault(); kept = !kept; kept ? open(prov) : (prov.open = false); });
    prov.addEventListener("keydown", (event) => { if (event.key === "Escape" && prov.open) { kept = false; prov.open = false; event.stopPropagation(); } });
  }
};
