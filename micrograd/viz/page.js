"use strict";
// What every page asks of the notebook around it. The frame it is in; null on its own, or inside a stranger's page.
const host = (() => { try { return window.frameElement; } catch { return null; } })();

// "dark" or "light", as the first ground above the frame that cannot be seen through; "" where there is none.
function themeAround() {
  for (let above = host; above; above = above.parentElement) {
    const ground = above.ownerDocument.defaultView.getComputedStyle(above).backgroundColor;
    const [red, green, blue, opaque = 1] = (/^rgb/.test(ground) && ground.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
    if (opaque === 1) return 0.299 * red + 0.587 * green + 0.114 * blue < 128 ? "dark" : "light";
  }
  return "";
}

const still = host?.previousElementSibling;
if (still?.tagName === "IMG") still.style.display = "none";  // it stood in for this page
