/** Images of questions: pasted, dropped or chosen, for a model that reads them. Only this tab has them. */
import { computed, signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { Button } from "../components/controls.tsx";
import { chatModels } from "../node/state.ts";
import { lastSettings } from "./store.ts";

/** A `data:` address each, too large for the browser's storage. */
type Images = readonly string[];

/** Of the question that is being written. */
export const draftImages = signal<Images>([]);

/** Why what was pasted or chosen is not sent. */
const note = signal<string | undefined>(undefined);

const ofTurns = new Map<string, Images>();

export const imagesOfTurn = (id: string): Images => ofTurns.get(id) ?? [];

/** Moves the images of the draft to the turn that asks about them; returns how many there are. */
export function giveImagesTo(turnId: string): number {
  const images = draftImages.value;
  if (images.length > 0) ofTurns.set(turnId, images);
  draftImages.value = [];
  return images.length;
}

const readsImages = computed(() => {
  const { model } = lastSettings();
  return chatModels.value.find(({ name }) => name === model)?.vision === true;
});

const types = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const mostImages = 20;

/** Whether they are all images that the chosen model reads; then they join the draft. */
export function takeImages(files: readonly File[]): boolean {
  const isAll = files.length > 0 && files.every(({ type }) => types.includes(type));
  if (!isAll || !readsImages.value) return false;
  void addToDraft(files);
  return true;
}

async function addToDraft(files: readonly File[]): Promise<void> {
  note.value = undefined;
  try {
    const read = await Promise.all(files.map(dataUrl));
    const images = [...new Set([...draftImages.value, ...read])];
    if (images.length > mostImages) note.value = `A question has at most ${mostImages} images.`;
    draftImages.value = images.slice(0, mostImages);
  } catch {
    note.value = "The browser could not read the image.";
  }
}

const dataUrl = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });

export function onPaste(event: ClipboardEvent): void {
  const files = [...(event.clipboardData?.files ?? [])];
  // A copied text may come with a picture of itself.
  const hasText = event.clipboardData?.types.includes("text/plain") ?? false;
  if (files.length === 0 || hasText) return;
  event.preventDefault();
  note.value = takeImages(files) ? undefined : whyNot();
}

function whyNot(): string {
  if (readsImages.value) return "Only PNG, JPEG, WebP and GIF images can be sent with a question.";
  const reading = chatModels.value.filter(({ vision }) => vision === true);
  const names = reading.map(({ name }) => name).join(", ");
  const advice = names === "" ? "No model of this node does." : `These do: ${names}.`;
  return `${lastSettings().model} does not read images. ${advice}`;
}

/** The images of the draft, each with a way to remove it. */
export function DraftImages() {
  const images = draftImages.value;
  return (
    <>
      {images.length > 0 && (
        <ul class="images" aria-label="Images to send">
          {images.map((image, at) => (
            <li key={image}>
              <img src={image} alt={`Number ${at + 1}`} />
              <Button
                label="Remove"
                about={`image ${at + 1}`}
                class="quiet"
                onClick={() => {
                  draftImages.value = images.filter((one) => one !== image);
                }}
              />
            </li>
          ))}
        </ul>
      )}
      {note.value !== undefined && (
        <p class="note" role="alert">
          {note.value}
        </p>
      )}
    </>
  );
}

/** Shown while the chosen model reads images. */
export function AddImage() {
  const field = useRef<HTMLInputElement>(null);
  if (!readsImages.value) return null;
  return (
    <>
      <Button label="Add image" class="quiet" onClick={() => field.current?.click()} />
      <input
        ref={field}
        type="file"
        accept={types.join()}
        multiple
        hidden
        onChange={({ currentTarget }) => {
          if (!takeImages([...(currentTarget.files ?? [])])) note.value = whyNot();
          // So that the same file can be chosen again.
          currentTarget.value = "";
        }}
      />
    </>
  );
}

/** The images of a question that was sent; `count`: how many it had. */
export function TurnImages({ id, count }: { id: string; count: number }) {
  const images = imagesOfTurn(id);
  if (images.length === 0) {
    return (
      <p class="note">
        {count === 1 ? "An image" : `${count} images`} that this browser did not keep: the model is
        not shown it again.
      </p>
    );
  }
  return (
    <div class="images">
      {images.map((image, at) => (
        <img key={image} src={image} alt={`Number ${at + 1} of the question`} />
      ))}
    </div>
  );
}
