/** Entry of the page: renders it, and asks the node what it has. */
import { render } from "preact";
import { keepToKnownModels } from "./chat/known-model.ts";
import { awaitNode } from "./node/state.ts";
import { Page } from "./page.tsx";

const root = document.querySelector("#page");
if (root !== null) render(<Page />, root);
keepToKnownModels();
void awaitNode();
