// The panel of the model stack. Its sections come from the files beside this one.
window.hsdSystems.panel("stack", { title: "Model stack", order: 1 });
