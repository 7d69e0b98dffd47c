import { render } from "preact";
import { App } from "./app";
import { followLinks } from "./router";
import { watchSystemTheme } from "./theme";

watchSystemTheme();
followLinks();
render(<App />, document.getElementById("app")!);
