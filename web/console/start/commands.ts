/* Commands to copy. Secrets and ids have no characters that a shell interprets. */

export type FirstIds = { conversation: string; message: string };

/** A conversation with one message, as lines of records. */
export function firstRecords(app_id: string, { conversation, message }: FirstIds): string {
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

export const sendCommand = (origin: string, secret: string, records: string): string =>
  `curl -s '${origin}/admin/records' -H "Authorization: Bearer ${secret}" \\
  -H 'Content-Type: application/x-ndjson' --data-binary '${records}'`;

export const readCommand = (origin: string, secret: string, conversation: string): string =>
  `curl -s '${origin}/v1/messages?conversation_id=${conversation}' -H "Authorization: Bearer ${secret}"`;
