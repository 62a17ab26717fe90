/** One collection: its name, what can be done with it as a whole, and its documents. */
import { useEffect, useState } from "preact/hooks";
import type { VectorStore } from "../../client/wire.ts";
import { focusComposer } from "../chat/panels.ts";
import { changeSettings, startConversation } from "../chat/store.ts";
import { withKey } from "../client.ts";
import { openTab } from "../tabs.ts";
import { documents, forgetCollection, isNodes, nameOf, putCollection } from "./collections.ts";
import { DocumentList } from "./document-list.tsx";
import { DropArea } from "./drop-area.tsx";
import { listing, loadPage, refreshShown } from "./listing.ts";
import { NameDialog } from "./name-dialog.tsx";
import { deleteCollection, emptyCollection } from "./removal.ts";
import { RemovalDialog } from "./removal-dialog.tsx";
import { counted } from "./size-text.ts";
import { UploadList } from "./upload-list.tsx";

type Doing = "renaming" | "emptying" | "deleting";

export function CollectionView({ store }: { store: VectorStore }) {
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
  const rename = async (to: string): Promise<void> =>
    putCollection(await withKey(() => documents.renameStore(id, to)));
  return (
    <section class="collection" aria-labelledby="collection-name">
      <div class="row between">
        <h3 id="collection-name" tabIndex={-1}>
          <bdi>{name}</bdi>
        </h3>
        <span class="row actions">
          <button type="button" class="quiet" onClick={() => setDoing("renaming")}>
            Rename
          </button>
          {counts.total > 0 && (
            <button type="button" class="quiet" onClick={() => setDoing("emptying")}>
              Empty
            </button>
          )}
          {!isNodes(store) && (
            <button type="button" class="quiet" onClick={() => setDoing("deleting")}>
              Delete
            </button>
          )}
          <button type="button" disabled={counts.completed === 0} onClick={ask}>
            Ask about it
          </button>
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
      {doing === "emptying" && (
        <RemovalDialog
          title={`Empty “${name}”?`}
          lost={<Lost store={store} what="" />}
          action="Empty it"
          files="the uploaded files"
          steps={counts.total}
          remove={(options) => emptyCollection(id, options)}
          onClose={end}
          onDone={() => void refreshShown(id)}
          focusAfter="collection-name"
        />
      )}
      {doing === "deleting" && (
        <RemovalDialog
          title={`Delete “${name}”?`}
          lost={<Lost store={store} what="the collection and " />}
          action="Delete it"
          files={counts.total > 0 ? "the uploaded files" : undefined}
          steps={counts.total}
          remove={(options) => deleteCollection(id, options)}
          onClose={end}
          onDone={(isComplete) => {
            if (isComplete) forgetCollection(id);
            else void refreshShown(id);
          }}
          focusAfter="collection-name"
        />
      )}
    </section>
  );
}

const namedAtMost = 3;

/** What is lost: how many documents, and the names of some. */
function Lost({ store, what }: { store: VectorStore; what: string }) {
  const { total } = store.file_counts;
  if (total === 0) return <>It holds no documents.</>;
  const files = listing.value?.store === store.id ? listing.value.files : [];
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
