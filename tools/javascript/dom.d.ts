// What the pages know of their documents, and TypeScript cannot: which kind of element an id or a selector stands for,
// and that a target of an event is an element. An attribute may be set to a number.
interface EventTarget {
  id: string;
  value: any;
  max: any;
  open: boolean;
  hidden: any;
  type: string;
  text: string;
  form: HTMLFormElement;
  dataset: DOMStringMap;
  style: CSSStyleDeclaration;
  closest(selector: string): any;
  matches(selector: string): boolean;
  focus(): void;
  select(): void;
}
interface Node extends Pick<HTMLElement, "children" | "className" | "getAttribute" | "prepend"> {
  setAttribute(name: string, value: string | number | boolean): void;
}
interface Element {
  setAttribute(name: string, value: string | number | boolean): void;
}
interface Event {
  key: string;
  pointerId: number;
}

// An array of the page's engine
interface Float64Array {
  shape?: number[];
}
