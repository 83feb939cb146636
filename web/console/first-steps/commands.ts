/** A conversation with one message, as lines of records. */
export function firstRecords(
  app_id: string,
  { conversation, message }: Record<'conversation' | 'message', string>,
): string {
  const records = [
    { record: 'conversation', id: conversation, app_id, user: 'visitor-1' },
    {
      record: 'message',
      id: message,
      conversation_id: conversation,
      query: 'Hello?',
      answer: 'Hello! How can I help?',
    },
  ];
  return records.map((record) => JSON.stringify(record)).join('\n');
}

/** Sends records. Secrets and ids have no characters that a shell interprets. */
export const sendCommand = (origin: string, secret: string, records: string): string =>
  `curl -sS '${origin}/admin/records' -H "Authorization: Bearer ${secret}" \\
  -H 'Content-Type: application/x-ndjson' --data-binary '${records}'`;
