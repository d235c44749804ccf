// ---- the menu. It is in the script, which is packed, so a page is a kilobyte smaller
import {html, put} from "../html.js";

put(
  document.getElementById("tools"),
  html`
    <p>
      <button id="ask" type="button" aria-pressed="false" title="Each new gradient is asked before it is shown">
        Guess first
      </button>
    </p>
    <p id="touch">
      <button id="descend" type="button" title="A step of gradient descent">Take a step</button
      ><label>rate <input id="rate" type="number" value="0.1" step="any" min="0" /></label
      ><button id="reset" type="button" hidden>Reset</button>
    </p>
    <p><svg id="history" viewBox="0 0 100 30" aria-hidden="true" hidden></svg><span id="loss"></span></p>
    <p>
      <label
        ><span class="said">Search</span
        ><input id="find" type="search" placeholder="search /" size="9" aria-label="Search by name" /></label
      ><span id="hits" role="status"></span>
    </p>
    <p>
      <button id="wider" type="button" aria-label="Zoom out" title="Zoom out (&minus;)">&minus;</button
      ><button id="closer" type="button" aria-label="Zoom in" title="Zoom in (+)">+</button
      ><button id="whole" type="button" title="All of it (0)">Fit</button
      ><button id="speed" type="button" aria-label="Speed: 1 times" title="Speed">1&times;</button>
    </p>
    <p>
      <button id="svg" type="button" title="Save what is seen as SVG">SVG</button
      ><button id="png" type="button" title="Save what is seen as PNG">PNG</button
      ><button id="link" type="button" title="Copy a link to this step">Link</button>
    </p>
  `,
);
