import { useState } from '../../shared/dom.ts';
import type { ApiError } from '../state/api.ts';

/** What the user starts: whether it is under way, and why it failed. */
export function useAttempt() {
  const [error, setError] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const attempt = async (work: () => Promise<void>) => {
    setBusy(true);
    setError(undefined);
    await work().catch((error: ApiError) => setError(error));
    setBusy(false);
  };
  return { error, isBusy, attempt };
}
