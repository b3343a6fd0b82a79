// The panel of the model stack. Its sections come from the files beside this one.
import { panel } from "./panels.js";

panel("stack", { title: "Model stack", order: 1 });
