// How classes of points look: the table of micrograd's plots and movies, as the build wrote it.
import {MANY, SIDES} from "./vendor/classes.js";

export {SIDES};
export const looks = count => (count < 3 ? SIDES : MANY); // of so many classes, in their order
const SCALE = 0.46; // an outline of the table is 20 wide

export function shade(look) {
  // on the page as it is now
  return look[getComputedStyle(document.body).colorScheme === "dark" ? "dark" : "light"];
}
export function sign(look) {
  // in a text, in its colour
  const made = Object.assign(document.createElement("span"), {textContent: look.sign});
  made.style.color = `light-dark(${look.light}, ${look.dark})`;
  return made;
}
export function named(names) {
  // a list for a legend: each sign with its name
  return names.flatMap((name, k) => [k ? ", " : "", sign(looks(names.length)[k]), ` ${name}`]);
}
export function mark(drawing, {start, way}, x, y, hollow = false) {
  const path = new Path2D();
  if (way) path.addPath(new Path2D(`M${start}${way}`), new DOMMatrix([SCALE, 0, 0, SCALE, x, y]));
  else path.arc(x, y, SCALE * start[0], 0, 7);
  if (hollow) {
    // held out
    [drawing.strokeStyle, drawing.fillStyle] = [drawing.fillStyle, drawing.strokeStyle];
    drawing.lineWidth = 1.9;
  }
  drawing.fill(path);
  drawing.stroke(path);
}
