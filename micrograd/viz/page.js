// How a page adapts to its notebook. The frame it is in; null if it has none, or is framed by another origin.
export const host = (() => {
  try {
    return window.frameElement;
  } catch {
    return null;
  }
})();

// "dark" or "light", by the first opaque background around the frame; "" if there is none.
export function themeAround() {
  for (let above = host; above; above = above.parentElement) {
    const ground = above.ownerDocument.defaultView.getComputedStyle(above).backgroundColor;
    const [red, green, blue, opaque = 1] = ((/^rgb/.test(ground) && ground.match(/[\d.]+/g)) || [0, 0, 0, 0]).map(
      Number,
    );
    if (opaque === 1) return 0.299 * red + 0.587 * green + 0.114 * blue < 128 ? "dark" : "light";
  }
  return "";
}

const still = host?.previousElementSibling;
if (still?.tagName === "IMG") still.style.display = "none"; // the static fallback
