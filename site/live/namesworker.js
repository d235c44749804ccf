// The training of the GPT page, in a thread of its own: in slices, so that a pause and a question get in between.
import * as learner from "./vendor/gpt.js";
import * as reader from "./vendor/read.js";
import {Names} from "./names.js";

const SLICE = 30,
  MAKE = 400,
  MADE = 12,
  WARM = 250; // milliseconds of training at a time, and between two lists; made-up words; steps
let names = null,
  until = 0,
  going = false,
  asked = {text: "", temperature: 1},
  made = 0,
  spent = 0;

const told = () => names.look(asked.text, asked.temperature);
function list() {
  made = performance.now();
  return names.make(MADE, asked.temperature, asked.text);
}
async function run() {
  if (going) return;
  going = true;
  while (names.steps < until) {
    const began = performance.now(),
      losses = [];
    while (names.steps < until && performance.now() < began + SLICE)
      losses.push(...names.go(Math.min(5, until - names.steps)));
    spent += performance.now() - began;
    const ended = names.steps >= until;
    postMessage({
      losses,
      steps: names.steps,
      spent,
      ended,
      look: told(),
      ...(ended || performance.now() > made + MAKE ? {made: list(), map: names.map()} : {}),
    });
    await new Promise(next => setTimeout(next));
  }
  going = false;
}
// The browser compiles the step while its first hundreds run: let it do so before somebody waits.
async function warm(words, seed) {
  for (let done = 0; done < WARM && !going && !names.steps; done += 5) {
    names.go(5);
    names.begin(words, seed);
    await new Promise(next => setTimeout(next));
  }
}
onmessage = ({data}) => {
  asked = data.asked ?? asked;
  if (data.begin) {
    const first = !names;
    names ??= new Names(learner, reader, data.settings);
    names.begin(data.begin, data.seed);
    until = spent = 0;
    postMessage({begun: true, losses: [], steps: 0, spent: 0, look: told(), made: list(), map: names.map()});
    if (first) warm(data.begin, data.seed);
  }
  if (data.put) names.put(...data.put);
  if ((data.asked && !data.begin) || data.put) postMessage({look: told(), made: list(), map: names.map()});
  if (data.leaves) postMessage({leaves: names.leaves(...data.leaves)});
  if (data.steps) until = names.steps + data.steps;
  if (data.pause) {
    until = names.steps;
    postMessage({ended: true}); // after all that was on its way
  }
  if (data.steps) run();
};
