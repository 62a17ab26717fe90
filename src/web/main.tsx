/** Entry point of the page: renders it, and loads the node's state. */
import { render } from "preact";
import { keepToTheNode } from "./chat/store.ts";
import { keepCollections } from "./documents/collections.ts";
import { takeDroppedFiles } from "./documents/drop-area.tsx";
import { followNode, reloadOnReturn } from "./node/state.ts";
import { Page } from "./page.tsx";

const root = document.querySelector("#page");
if (root !== null) render(<Page />, root);
keepToTheNode();
keepCollections();
takeDroppedFiles();
reloadOnReturn();
void followNode();
