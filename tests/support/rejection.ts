/** What a promise is rejected with; a promise that is not is a failure. */

export async function rejectionOf(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("The promise was not rejected");
}
