// What the site's modules import: made by site/build.py, or fetched for it
declare module "*/vendor/classes.js";
declare module "*/vendor/editor.js";
declare module "*/vendor/gpt.js";
declare module "*/vendor/html.js";
declare module "*/vendor/neuron.js";
declare module "*/vendor/numbers.js";
declare module "*/vendor/read.js";
declare module "*/vendor/sign.js";
declare module "*.mjs";
declare module "@codemirror/*";
declare module "@lezer/*";
