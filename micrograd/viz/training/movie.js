// The page is a function of the frame number: `show` draws a frame, everything else only selects it.
(() => {
  const film = JSON.parse(document.getElementById("film").textContent);
  const last = film.frames.length - 1;
  const root = document.documentElement;
  const one = selector => document.querySelector(selector);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const speeds = [1, 2, 4, 0.5];
  let now = 0, playing = false, speed = 0, due = 0;

  // ---------------------------------------------------------------------------------------------- one frame
  function show(n) {
    now = Math.min(Math.max(n, 0), last);
    const frame = film.frames[now];
    one(".shades").setAttribute("viewBox", `0.5 ${now * film.rows + 0.5} ${film.columns - 1} ${film.rows - 1}`);
    document.querySelectorAll(".boundary > .line").forEach((line, i) => line.setAttribute("d", frame.lines[i]));
    const [x, y] = frame.at;
    one(".so-far").setAttribute("width", x);
    one(".cursor").setAttribute("transform", `translate(${x} 0)`);
    one(".dot").setAttribute("cx", x);
    one(".dot").setAttribute("cy", y);
    document.querySelectorAll(".bars").forEach((path, i) => path.setAttribute("d", bars(frame.bars[i])));
    for (const name of ["right", "loss", "step", "says"]) one("#" + name).textContent = frame[name];
    const track = one("#frame");
    track.max = last;
    track.value = now;
    track.setAttribute("aria-valuetext", frame.says);
    if (host) host.dataset.frame = now;  // notebooks may reload the page when it scrolls back into view
  }

  // One unit per bin and per count. Keep in sync with `bars` in panels.py.
  const bars = counts => counts.map((n, i) => n ? `M${i + 0.1} 0v${n}h.8v-${n}z` : "").join("");

  // ---------------------------------------------------------------------------------------------- selecting a frame
  function play(on) {
    playing = on && last > 0;
    if (playing && now === last) show(0);
    root.classList.toggle("playing", playing);
    one("#play").setAttribute("aria-label", playing ? "Pause" : "Play");
    one("#says").setAttribute("aria-live", playing ? "off" : "polite");  // ten sentences a second are useless to listen to
    due = 0;
    if (playing) requestAnimationFrame(tick);
  }

  function tick(time) {
    if (!playing) return;
    due ||= time + pause();
    if (time >= due) {
      due = Math.max(due, time - pause()) + pause();
      show(now + 1);
      if (now === last) return play(false);
    }
    requestAnimationFrame(tick);
  }

  const pause = () => (calm.matches ? 600 : 100) / speeds[speed];  // milliseconds per frame

  function setSpeed(n) {
    speed = n % speeds.length;
    one("#speed").textContent = `${speeds[speed]}\u00d7`;
    one("#speed").setAttribute("aria-label", `Speed ${speeds[speed]}\u00d7`);
  }

  function seek(n) {
    play(false);
    show(n);
  }

  const keys = {
    ArrowLeft: () => seek(now - 1), ArrowRight: () => seek(now + 1),
    Home: () => seek(0), End: () => seek(last), " ": () => play(!playing),
  };

  addEventListener("keydown", event => {
    const key = keys[event.key];
    const pressed = event.key === " " && event.target.closest("button");  // the space bar already presses it
    if (!key || pressed || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    key();
  });
  one("#play").addEventListener("click", () => play(!playing));
  one("#speed").addEventListener("click", () => setSpeed(speed + 1));
  one("#frame").addEventListener("input", event => seek(Number(event.target.value)));
  addEventListener("hashchange", () => seek(asked() ?? now));

  // #frame=12
  function asked() {
    const found = /^#frame=(\d+)$/.exec(location.hash);
    return found ? Number(found[1]) : null;
  }

  // ---------------------------------------------------------------------------------------------- in a notebook
  function dress() {
    const found = themeAround();
    if (found) root.dataset.theme = found;
  }

  if (host) {
    dress();
    addEventListener("pointerenter", dress);  // the notebook's theme may have changed
    addEventListener("focus", dress);
    const fit = () => { host.style.height = `${Math.ceil(one("main").getBoundingClientRect().height)}px`; };
    new ResizeObserver(fit).observe(one("main"));
  }

  setSpeed(0);
  show(asked() ?? Number(host?.dataset.frame ?? 0));
})();
