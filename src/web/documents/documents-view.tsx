/** The documents tab: collections, their documents, and uploads. */
import { useEffect, useState } from "preact/hooks";
import type { VectorStore } from "../../client/wire.ts";
import { changeSettings, focusComposer, startConversation } from "../chat/store.ts";
import { api, askForKey, withKey } from "../client.ts";
import { Button, FailureNote } from "../components/controls.tsx";
import { openTab } from "../frame.ts";
import { CollectionList, NameDialog } from "./collection-list.tsx";
import {
  collectionsFailure,
  forgetCollection,
  isNodes,
  isOpen,
  loadCollections,
  nameOf,
  refusal,
  shown,
} from "./collections.ts";
import { DocumentList, listingOf, loadPage, refreshShown, watchIngest } from "./document-list.tsx";
import { DropArea } from "./drop-area.tsx";
import { deleteCollection, emptyCollection, RemovalDialog } from "./removal.tsx";
import { UploadList } from "./upload-list.tsx";
import { counted } from "./upload-queue.ts";

export function DocumentsView() {
  useEffect(() => void loadCollections({ asks: true }), []);
  useEffect(watchIngest, []);
  return (
    <div class="page-column">
      <h2>Documents</h2>
      <p class="lead">Drop files here, and the node answers from them. They stay on the node.</p>
      <Room />
    </div>
  );
}

function Room() {
  const store = shown.value;
  if (refusal.value !== undefined) {
    return (
      <section aria-label="What is missing">
        <p>
          Your key does not open documents: it lacks the scope <code>documents</code>. Ask the
          person who runs the node for a key that has it. You can still ask questions.
        </p>
        <p class="note">{refusal}</p>
        <Button
          label="Use another key"
          onClick={() => void askForKey("Enter a key that opens documents.")}
        />
      </section>
    );
  }
  const failure =
    collectionsFailure.value === undefined ? null : (
      <FailureNote
        message={collectionsFailure.value.message}
        onRetry={() => void loadCollections({ asks: true })}
      />
    );
  if (store === undefined) {
    return (
      failure ?? (
        <p class="note">
          {isOpen.value ? "Your key is bound to collections that are not there." : "Looking …"}
        </p>
      )
    );
  }
  return (
    <>
      {failure}
      <CollectionList />
      <CollectionView store={store} />
    </>
  );
}

type Doing = "renaming" | "emptying" | "deleting";

function CollectionView({ store }: { store: VectorStore }) {
  const [doing, setDoing] = useState<Doing>();
  const { id, file_counts: counts } = store;
  useEffect(() => void loadPage(id), [id]);
  const name = nameOf(store);
  const ask = (): void => {
    startConversation();
    changeSettings({ grounded: "on", collections: isNodes(store) ? undefined : [id] });
    openTab("chat");
    focusComposer();
  };
  const end = (): void => setDoing(undefined);
  const rename = async (to: string): Promise<void> => {
    await withKey(() => api.renameStore(id, to));
    await loadCollections({ asks: false });
  };
  return (
    <section class="collection" aria-labelledby="collection-name">
      <div class="row between">
        <h3 id="collection-name" tabIndex={-1}>
          <bdi>{name}</bdi>
        </h3>
        <span class="row actions">
          <Button label="Rename" class="quiet" onClick={() => setDoing("renaming")} />
          {counts.total > 0 && (
            <Button label="Empty" class="quiet" onClick={() => setDoing("emptying")} />
          )}
          {!isNodes(store) && (
            <Button label="Delete" class="quiet" onClick={() => setDoing("deleting")} />
          )}
          <Button label="Ask about it" disabled={counts.completed === 0} onClick={ask} />
        </span>
      </div>
      <DropArea />
      <UploadList />
      <DocumentList store={store} />
      {doing === "renaming" && (
        <NameDialog
          title="Rename this collection"
          action="Rename it"
          name={name}
          onName={rename}
          onClose={end}
        />
      )}
      {(doing === "emptying" || doing === "deleting") && (
        <RemovalDialog
          title={`${doing === "emptying" ? "Empty" : "Delete"} “${name}”?`}
          lost={<Lost store={store} what={doing === "emptying" ? "" : "the collection and "} />}
          action={doing === "emptying" ? "Empty it" : "Delete it"}
          files={counts.total > 0 ? "the uploaded files" : undefined}
          steps={counts.total}
          remove={(options) =>
            doing === "emptying" ? emptyCollection(id, options) : deleteCollection(id, options)
          }
          onClose={end}
          onDone={(isComplete) => {
            if (isComplete && doing === "deleting") forgetCollection(id);
            void refreshShown();
          }}
          focusAfter="collection-name"
        />
      )}
    </section>
  );
}

const namedAtMost = 3;

/** What a removal deletes: the number of documents, and some names. */
function Lost({ store, what }: { store: VectorStore; what: string }) {
  const { total } = store.file_counts;
  if (total === 0) return <>It holds no documents.</>;
  const files = listingOf(store)?.files ?? [];
  const names = files.slice(0, namedAtMost).map(({ filename }) => `“${filename}”`);
  const more = total - names.length;
  const all = [...names, ...(more > 0 && names.length > 0 ? [`${more} more`] : [])].join(", ");
  return (
    <>
      This removes {what}
      {counted(total, "document")}
      {all !== "" && <>: {all}</>}. No answer comes from there any more, and it cannot be undone
      here.
    </>
  );
}
