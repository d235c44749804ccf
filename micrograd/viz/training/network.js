import "./fit.js";
import {Inside} from "./inside.js";

const {inside, closed} = JSON.parse(document.getElementById("network").textContent);
Inside(inside, closed);
