/** Pagination as in OpenAI's API: a cursor is the id of an item. */

export interface PageRequest {
  limit: number;
  order: "asc" | "desc";
  /** Only items after this one. */
  after?: string;
  /** Only items before this one. */
  before?: string;
}

export interface Page<Item> {
  items: readonly Item[];
  /** Whether there are more items in the requested direction. */
  hasMore: boolean;
}
