/** The uploads: progress of each, and failures. */
import { byteSize } from "../../core/byte-size.ts";
import { Button } from "../components/controls.tsx";
import { counted } from "./file-check.ts";
import type { Upload } from "./upload-queue.ts";
import { queue } from "./uploads.ts";

/** More rows than this are counted, not shown. */
const mostRows = 20;

export function UploadList() {
  const active = queue.active.value;
  const failed = queue.failed.value;
  if (active.length + failed.length === 0) return null;
  const onTheirWay = active.filter(({ state }) => state !== "waiting");
  const waiting = active.length - onTheirWay.length;
  const retriable = failed.filter(({ failure }) => failure?.canRetry === true);
  return (
    <section class="uploads" aria-label="Uploads">
      {active.length > 0 && (
        <div class="row between">
          <p class="note">
            {counted(active.length, "file")} on the way
            {waiting > 0 && `, ${waiting} of them waiting`}
          </p>
          {active.length > 1 && (
            <Button
              label="Cancel all"
              class="quiet"
              onClick={() => queue.drop(...active.map(({ id }) => id))}
            />
          )}
        </div>
      )}
      <ul>
        {onTheirWay.map((upload) => (
          <OnTheWay key={upload.id} {...upload} />
        ))}
        {failed.slice(0, mostRows).map((upload) => (
          <Failed key={upload.id} {...upload} />
        ))}
      </ul>
      {failed.length > mostRows && (
        <p class="note">and {failed.length - mostRows} more that could not be uploaded.</p>
      )}
      {failed.length > 1 && (
        <div class="row">
          {retriable.length > 1 && (
            <Button
              label="Try all again"
              onClick={() => queue.retry(...retriable.map(({ id }) => id))}
            />
          )}
          <Button
            label="Dismiss all"
            class="quiet"
            onClick={() => queue.drop(...failed.map(({ id }) => id))}
          />
        </div>
      )}
    </section>
  );
}

function OnTheWay({ id, file, state, sentBytes, storeName }: Upload) {
  const percent = file.size === 0 ? 100 : Math.floor((sentBytes / file.size) * 100);
  return (
    <li class="upload">
      <p class="name">
        <bdi>{file.name}</bdi> <span class="note">to {storeName}</span>
      </p>
      <progress max={100} value={percent} aria-label={`Upload of ${file.name}`} />
      <p class="note">
        {state === "adding" || percent === 100
          ? "Sent; the node is storing it"
          : `${percent} % of ${byteSize(file.size)}`}
      </p>
      <Button
        label="Cancel"
        class="quiet"
        onClick={() => queue.drop(id)}
        about={`the upload of ${file.name}`}
      />
    </li>
  );
}

function Failed({ id, file, failure }: Upload) {
  return (
    <li class="upload failure">
      <p>
        <bdi class="name">{file.name}</bdi>
        <br />
        {failure?.message}
      </p>
      <span class="row">
        {failure?.canRetry === true && (
          <Button
            label="Try again"
            onClick={() => queue.retry(id)}
            about={`to upload ${file.name}`}
          />
        )}
        <Button label="Dismiss" onClick={() => queue.drop(id)} about={file.name} />
      </span>
    </li>
  );
}
