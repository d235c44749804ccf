// The training page's step as JavaScript, in a thread of its own: the page draws meanwhile, and is sent what there is to see
// when it has shown what was sent before.
const SLICE = 30; // milliseconds of training until a message can get in between
let module,
  told,
  steps = 0,
  seen = true,
  ended = false,
  losses = [],
  spent = 0;

function once() {
  const {points, batch} = told,
    picked = Array.from({length: batch}, () => points[Math.floor(Math.random() * points.length)]);
  return module.step({points: picked.map(([place]) => place), answers: picked.map(([, answer]) => answer)});
}
function slice() {
  const began = performance.now(),
    some = [];
  while (performance.now() < began + SLICE) some.push(once());
  const before = module.state().p; // the last step says how long its gradient is
  some.push(once());
  spent += performance.now() - began;
  losses.push(...some);
  steps += some.length;
  if (!seen && !ended) return;
  const {order, rate} = told,
    {p} = module.state();
  postMessage({
    steps,
    losses,
    ms: spent / losses.length,
    p: order.map(at => p[at]),
    slopes: order.map(at => (before[at] - p[at]) / rate),
    ended,
  });
  [seen, losses, spent] = [false, [], 0];
}
// {begin} with what the page knows of the network; then {rate} for what was shown, or {end}
onmessage = async ({data}) => {
  if (data.end) return (ended = true);
  if (data.rate) {
    module.load({lr: (told.rate = data.rate)});
    return (seen = true);
  }
  told = data.begin;
  module = await import(`./vendor/${told.kind}.js`);
  const p = [];
  told.order.forEach((at, k) => (p[at] = told.p[k]));
  module.load({p, lr: told.rate});
  steps = told.steps;
  while (!ended) {
    slice();
    await new Promise(next => setTimeout(next));
  }
  slice();
  close();
};
