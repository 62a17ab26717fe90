/** Pagination as in OpenAI's API: a cursor is the id of an item. */

export interface PageRequest {
  limit: number;
  order: "asc" | "desc";
  after?: string;
  before?: string;
}

export interface Page<Item> {
  items: readonly Item[];
  hasMore: boolean;
}
