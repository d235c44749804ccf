// Neurons are as large as the room of the network allows, which changes with the window.
const sizes = new ResizeObserver(seen => {
  for (const {
    target,
    contentRect: {width, height},
  } of seen) {
    const [across, down] = target.dataset.full.split(" ").map(Number);
    target.style.setProperty("--unit", String(Math.min(1.4, width / across, height / down)));
  }
});
document.querySelectorAll(".network").forEach(svg => sizes.observe(svg));
