// ---- HTML as templates, in which no text can be taken for HTML
class Markup {
  constructor(text) {
    this.text = text;
  }
}

const escaped = text =>
  String(text).replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})[c]);
function markup(x) {
  if (x instanceof Markup) return x.text;
  if (x instanceof Element) return x.outerHTML;
  return Array.isArray(x) ? x.map(markup).join("") : escaped(x ?? "");
}

/** HTML in which all that is put in is text, unless it is such HTML itself, an element, or a list of these. */
export function html(parts, ...given) {
  const raw = parts.map(part => part.replace(/\n\s*/g, " ")); // a template is set in lines, and is one line
  return new Markup(String.raw({raw}, ...given.map(markup)));
}

/** A list with text or HTML between each two. */
export const joined = (list, between) => list.flatMap((x, k) => (k ? [between, x] : [x]));

/** What an element shows: the only place that sets HTML. */
export function put(element, content) {
  element.innerHTML = markup(content);
}
