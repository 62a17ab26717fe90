/** A conversation whose model the node does not have goes on with the first that it has. */
import { effect } from "@preact/signals";
import { chatModels } from "../node/state.ts";
import { changeSettings, current } from "./store.ts";

export function keepToKnownModels(): void {
  effect(() => {
    const [first] = chatModels.value;
    const model = current.value?.settings.model;
    const known = chatModels.value.some(({ name }) => name === model);
    if (!known && first !== undefined) changeSettings({ model: first.name });
  });
}
