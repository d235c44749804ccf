// The editor of the live pages, from CodeMirror's parts; bundled into vendor/editor.js.
import {autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap} from "@codemirror/autocomplete";
import {
  defaultKeymap,
  history,
  historyKeymap,
  indentWithTab,
  isolateHistory,
  temporarilySetTabFocusMode,
  undo,
} from "@codemirror/commands";
import {python} from "@codemirror/lang-python";
import {bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting} from "@codemirror/language";
import {highlightSelectionMatches, searchKeymap} from "@codemirror/search";
import {Annotation, EditorState, StateEffect, StateField} from "@codemirror/state";
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import {tags} from "@lezer/highlight";

// The colours are variables of the page's style sheet, so that light and dark need one set of rules.
const colours = HighlightStyle.define([
  {
    tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword, tags.moduleKeyword],
    color: "var(--code-keyword)",
  },
  {tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)"},
  {tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)"},
  {tag: [tags.comment, tags.docComment], color: "var(--quiet)", fontStyle: "italic"},
  {
    tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)],
    color: "var(--code-defined)",
  },
]);

const mark = StateEffect.define();
const marks = StateField.define({
  create: () => Decoration.none,
  update(shown, transaction) {
    shown = shown.map(transaction.changes);
    for (const effect of transaction.effects)
      if (effect.is(mark)) shown = decorated(effect.value, transaction.state.doc);
    return shown;
  },
  provide: field => EditorView.decorations.from(field),
});
function decorated(what, doc) {
  if (!what) return Decoration.none;
  if (what.line)
    return Decoration.set(Decoration.line({class: "wrong"}).range(doc.line(Math.min(what.line, doc.lines)).from));
  return Decoration.set(Decoration.mark({class: "dragged"}).range(what.from, what.to));
}

// Edits by the page are annotated: "whole" is another text, "drag" begins a drag, "dragging" goes on with it. What is typed
// within half a second is undone together, and so is a drag, however long it takes.
const byPage = Annotation.define();
let typed = 0;
function joins(transaction, adjacent) {
  const pause = Date.now() - typed;
  typed = Date.now();
  const how = transaction.annotation(byPage);
  return how ? how === "dragging" : adjacent && pause < 500;
}

// An editor of Python in `parent`. changed(how) is called after each edit, with the annotation if it is the page's, run() for Ctrl+Enter.
export function editor(parent, text, {label, changed, run}) {
  const view = new EditorView({
    parent,
    doc: text,
    extensions: [
      keymap.of([
        {key: "Mod-Enter", run: () => (run(), true)},
        {key: "Escape", run: temporarilySetTabFocusMode}, // the next Tab leaves the editor
        ...closeBracketsKeymap,
        ...defaultKeymap,
        ...searchKeymap,
        ...historyKeymap,
        ...completionKeymap,
        indentWithTab,
      ]),
      lineNumbers(),
      highlightActiveLineGutter(),
      highlightActiveLine(),
      highlightSpecialChars(),
      drawSelection(),
      highlightSelectionMatches(),
      history({newGroupDelay: Infinity, joinToEvent: joins}),
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      autocompletion({activateOnTyping: false}),
      EditorView.lineWrapping,
      python(),
      indentUnit.of("    "),
      EditorState.tabSize.of(4),
      syntaxHighlighting(colours),
      marks,
      EditorView.contentAttributes.of({
        "aria-label": label,
        tabindex: "0",
        spellcheck: "false",
        autocapitalize: "off",
        autocorrect: "off",
      }),
      EditorView.updateListener.of(
        update => update.docChanged && changed(update.transactions.map(t => t.annotation(byPage)).find(Boolean)),
      ),
    ],
  });
  return {
    view,
    get text() {
      return view.state.doc.toString();
    },
    set text(whole) {
      view.dispatch({
        changes: {from: 0, to: view.state.doc.length, insert: whole},
        annotations: [byPage.of("whole"), isolateHistory.of("full")],
      });
    },
    place: (line, column) => view.state.doc.line(line).from + column,
    // Replace characters, and mark what comes in their place; `goesOn` with the drag that the last call was a part of.
    replace(from, to, insert, goesOn = false) {
      view.dispatch({
        changes: {from, to, insert},
        effects: mark.of({from, to: from + insert.length}),
        annotations: goesOn ? byPage.of("dragging") : [byPage.of("drag"), isolateHistory.of("before")],
      });
    },
    undo: () => undo(view),
    mark: what => view.dispatch({effects: mark.of(what)}),
    focus: () => view.focus(),
  };
}
