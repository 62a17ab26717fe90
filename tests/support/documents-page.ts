/** What tests do in the page's room of documents, in few words. */
import type { Locator, Page } from "playwright-core";

export interface PageFile {
  name: string;
  text: string;
}

const toPayload = ({ name, text }: PageFile) => ({
  name,
  mimeType: "text/plain",
  buffer: Buffer.from(text),
});

/** Chooses files as the reader would, through the browser's own dialog. */
export async function chooseFiles(page: Page, ...files: PageFile[]): Promise<void> {
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose files" }).click();
  await (await chooser).setFiles(files.map(toPayload));
}

/** Drops files on the page, as a browser tells it. */
export async function dropFiles(page: Page, ...files: PageFile[]): Promise<void> {
  const dropped = await page.evaluateHandle(`(() => {
    const data = new DataTransfer();
    for (const { name, text } of ${JSON.stringify(files)}) data.items.add(new File([text], name));
    return data;
  })()`);
  await page.dispatchEvent("body", "drop", { dataTransfer: dropped });
}

/** Drops what lies on the disk, a folder too, as the system's file manager does. */
export async function dropPath(page: Page, path: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [path], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const) {
    await session.send("Input.dispatchDragEvent", { type, x: 200, y: 200, data });
  }
  await session.detach();
}

/** The row of a document in the list. */
export const documentRow = (page: Page, name: string): Locator =>
  page.locator(".document", { hasText: name });

/** The row of a file that could not be uploaded. */
export const failedUpload = (page: Page, name: string): Locator =>
  page.locator(".upload.failure", { hasText: name });

/** A document that can be answered from. */
export const readyDocument = (page: Page, name: string): Locator =>
  documentRow(page, name).filter({ hasText: "Ready" });
