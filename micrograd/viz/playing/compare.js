// Two players in frames, which go through the same stops. The last stop is where the graphs differ, or their end.
import {host, themeAround} from "../page.js";

const byId = id => document.getElementById(id);
const {page, stories, stops, verdict, agree} = JSON.parse(byId("compare").textContent);
const frames = [...document.querySelectorAll("iframe")];
const end = stops.length + (agree ? 0 : -1); // if the graphs agree, the end comes after the last stop
let now = end;

const places = n => (stops[n] ? stops[n].slice(1) : ["place=end", "place=end"]);

function show(n) {
  now = Math.max(0, Math.min(end, n));
  byId("at").textContent = `Step ${now + 1} of ${end + 1}`;
  byId("verdict").textContent = now === end ? verdict : stops[now][0];
  byId("verdict").classList.toggle("agree", agree || now < end);
  places(now).forEach((place, k) => {
    if (place) frames[k].contentWindow.postMessage({micrograd: "go", place}, "*");
  });
}

const acts = {first: () => show(0), back: () => show(now - 1), next: () => show(now + 1), last: () => show(end)};
const keys = {Home: acts.first, ArrowLeft: acts.back, ArrowRight: acts.next, End: acts.last};
for (const name in acts) byId(name).addEventListener("click", acts[name]);
addEventListener("keydown", event => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = () => {
  document.documentElement.dataset.theme = themeAround() || (dark.matches ? "dark" : "light");
};

dark.addEventListener("change", theme);
theme();
show(end);
const wide = !host && innerWidth > 900;
const height = Math.max(360, innerHeight - byId("pair").offsetTop - 44);
frames.forEach((frame, k) => {
  const story = JSON.stringify({...stories[k], frame: wide ? {panels: 0, height} : {panels: 0}}).replace(
    /</g,
    "\\u003c",
  );
  frame.dataset.place = places(end)[k] ?? "place=end";
  frame.srcdoc = page.replace('id="story">null<', () => `id="story">${story}<`);
});
if (host)
  new ResizeObserver(() => {
    host.style.height = `${byId("both").offsetHeight}px`;
  }).observe(byId("both"));
