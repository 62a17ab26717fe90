/** A failure as a sentence, with a button where asking again may help. */

export interface FailureNoteProps {
  message: string;
  onRetry?: (() => void) | undefined;
}

export function FailureNote({ message, onRetry }: FailureNoteProps) {
  return (
    <div class="failure" role="alert">
      <p>{message}</p>
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          Retry
        </button>
      )}
    </div>
  );
}
