/** The models tab: what the node can answer with, the machine's memory, and how to get more. */
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Model } from "../../client/wire.ts";
import { byteSize } from "../../core/byte-size.ts";
import { announce } from "../browser.ts";
import { chooseModel, focusComposer, startConversation } from "../chat/store.ts";
import { api, askForKey, key, withKey } from "../client.ts";
import { Button, FailureNote } from "../components/controls.tsx";
import { RemovalDialog } from "../documents/removal.tsx";
import { failureOf } from "../failure.ts";
import { openTab } from "../frame.ts";
import {
  mayManage,
  memory,
  modelList,
  nodeFailure,
  pollNode,
  refreshNode,
  whileVisible,
} from "../node/state.ts";
import { factsOf, memoryNote, memoryParts, stateOf } from "./facts.ts";
import { PullSection } from "./pull-section.tsx";

export function ModelsView() {
  useEffect(() => whileVisible(pollNode), []);
  const failure = nodeFailure.value;
  return (
    <div class="page-column">
      <h2>Models</h2>
      <p class="lead">
        All of them answer. One that is not in memory is loaded by its first request.
      </p>
      {failure !== undefined && (
        <FailureNote message={failure.message} onRetry={() => void refreshNode()} />
      )}
      <Memory />
      <section aria-labelledby="models-title">
        <h3 id="models-title" tabIndex={-1}>
          On this node
        </h3>
        {modelList.value.length === 0 && <p class="note">None is ready yet.</p>}
        <ul class="document-list" aria-labelledby="models-title">
          {modelList.value.map((model) => (
            <ModelRow key={model.id} model={model} />
          ))}
        </ul>
      </section>
      {mayManage.value === true && <PullSection onChat={chatWith} />}
      {mayManage.value === false && <NotManaged />}
      <DeleteDialog />
    </div>
  );
}

function chatWith(model: string): void {
  startConversation();
  chooseModel(model);
  openTab("chat");
  focusComposer();
}

const shares = { models: "Models", others: "Other programs", free: "Free" } as const;
const kindsOfUse = ["models", "others", "free"] as const;

function Memory() {
  if (memory.value === undefined) return null;
  const { total, models: most } = memory.value;
  const parts = memoryParts(memory.value, modelList.value);
  const percent = (bytes: number): string => `${((bytes / total) * 100).toFixed(2)}%`;
  const words = kindsOfUse.map((kind) => `${shares[kind]} ${byteSize(parts[kind])}`).join(", ");
  return (
    <section aria-labelledby="memory-title">
      <h3 id="memory-title">Memory</h3>
      <div class="memory-bar" role="img" aria-label={`${words}, of ${byteSize(total)}.`}>
        <div class="models" style={{ width: percent(parts.models) }} />
        <div class="others" style={{ width: percent(parts.others) }} />
        {most !== undefined && most < total && (
          <span class="limit" style={{ insetInlineStart: percent(most) }} />
        )}
      </div>
      <ul class="memory-key note" aria-hidden="true">
        {kindsOfUse.map((kind) => (
          <li key={kind} class={kind}>
            {shares[kind]} {byteSize(parts[kind])}
          </li>
        ))}
      </ul>
      <p class="note">
        {byteSize(total)} in all
        {most !== undefined &&
          `; models may use up to ${byteSize(most)}. To load another, the one unused for longest is unloaded`}
        .
      </p>
    </section>
  );
}

type Action = "loadModel" | "unloadModel";

function ModelRow({ model }: { model: Model }) {
  const [isRunning, setRunning] = useState(false);
  const [failure, setFailure] = useState<string>();
  const { id, type, loaded, loading, unloadable, error } = model;
  const isBusy = isRunning || loading === true;
  const { kind, word } = stateOf(model);
  const note = memoryNote(model);
  const run = async (action: Action): Promise<void> => {
    if (isBusy) return;
    setRunning(true);
    setFailure(undefined);
    try {
      await withKey(() => api[action](id));
      announce(`${id} is ${action === "loadModel" ? "in memory" : "unloaded"}.`);
    } catch (error) {
      setFailure(failureOf(error).message);
    }
    setRunning(false);
    await refreshNode();
  };
  return (
    <li class={`document model ${kind}`}>
      <p class="name">
        <bdi>{id}</bdi>
      </p>
      <p class="note facts-line">
        <span class="status">{word}</span>
        {factsOf(model).map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
      </p>
      {note !== undefined && <p class="note">{note}</p>}
      <div class="row actions">
        {type === "chat" && (
          <Button label="Chat" class="quiet" about={`with ${id}`} onClick={() => chatWith(id)} />
        )}
        {mayManage.value === true && (
          <>
            {(!loaded || unloadable) && (
              <Button
                label={loaded ? "Unload" : "Load"}
                class="quiet"
                about={id}
                // Not disabled, which would take the focus away.
                aria-disabled={isBusy}
                onClick={() => void run(loaded ? "unloadModel" : "loadModel")}
              >
                {isBusy && " …"}
              </Button>
            )}
            {model.removable && (
              <Button
                label="Delete"
                class="quiet"
                about={id}
                onClick={() => {
                  deleting.value = model;
                }}
              />
            )}
          </>
        )}
      </div>
      {(failure ?? error) !== undefined && (
        <p class="reason" role={failure === undefined ? undefined : "alert"}>
          {failure ?? error}
        </p>
      )}
    </li>
  );
}

/** Outside of the rows: the deleted model's disappears while its last answers are finished. */
const deleting = signal<Model | undefined>(undefined);

function DeleteDialog() {
  if (deleting.value === undefined) return null;
  const { id, size } = deleting.value;
  const freed = size === undefined ? "" : `, and frees ${byteSize(size)} of disk`;
  return (
    <RemovalDialog
      key={id}
      title={`Delete “${id}”?`}
      lost={`This deletes its files from the node${freed}. Its answers in progress are finished first. To use it again, it has to be pulled again.`}
      action="Delete it"
      files={undefined}
      canStop={false}
      remove={() => withKey(() => api.deleteModel(id))}
      onClose={() => {
        deleting.value = undefined;
      }}
      onDone={() => void refreshNode()}
      focusAfter="models-title"
    />
  );
}

/** Why there are no buttons, for a user who may not manage models. */
function NotManaged() {
  const isStranger = memory.value === undefined;
  const ask = async (): Promise<void> => {
    if (await askForKey("Enter a key that manages models.")) await refreshNode();
  };
  if (key.value === null && !isStranger) {
    return (
      <section aria-label="What is missing">
        <p>
          This node serves everyone without a key, so its models are managed on its machine, with{" "}
          <code>paddock pull</code> and <code>paddock models rm</code>.
        </p>
      </section>
    );
  }
  return (
    <section aria-label="What is missing">
      <p>
        {isStranger ? (
          <>
            To load, pull or delete models, you need a key with the scope <code>models</code>.
          </>
        ) : (
          <>
            Your key does not manage models: it lacks the scope <code>models</code>. Ask the person
            who runs the node for a key that has it. You can still use every model.
          </>
        )}
      </p>
      <Button label={isStranger ? "Enter a key" : "Use another key"} onClick={() => void ask()} />
    </section>
  );
}
