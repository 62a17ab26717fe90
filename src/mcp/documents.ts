/** The services that tools and resources read documents with. */
import type { StoreAccess } from "../core/documents/store-access.ts";
import type { StoreFileService } from "../core/documents/store-file-service.ts";
import type { VectorStoreService } from "../core/documents/vector-store-service.ts";
import type { RetrievalService } from "../core/retrieval/retrieval-service.ts";

export interface McpDocuments {
  retrieval: RetrievalService;
  stores: VectorStoreService;
  storeFiles: StoreFileService;
  storeAccess: StoreAccess;
}
