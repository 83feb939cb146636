import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ids } from '../support/dify-database.ts';

/** Conversations of the app of `difyRows`, with messages, feedback and thoughts: as many as wanted, in one statement each. */
export const manyRows = (conversations: number, messagesEach: number): string => `
  INSERT INTO conversations (id, app_id, from_end_user_id, name, created_at, updated_at)
  SELECT gen_random_uuid(), '${ids.app}', '${ids.user}', 'conversation ' || n, to_timestamp(1793600000 + n), to_timestamp(1793600000 + n)
  FROM generate_series(1, ${conversations}) n;
  INSERT INTO messages (id, app_id, conversation_id, inputs, query, answer, message_tokens, answer_tokens, total_price, created_at)
  SELECT gen_random_uuid(), '${ids.app}', c.id, '{"n": 1}', 'question ' || n, repeat('answer ' || n || ' ', 20), n, 2 * n,
    0.0000210, c.created_at + interval '1 second' * (n / 2)
  FROM conversations c, generate_series(1, ${messagesEach}) n WHERE c.name LIKE 'conversation %';
  INSERT INTO message_feedbacks (message_id, rating, from_source)
  SELECT id, 'like', 'user' FROM messages WHERE message_tokens % 5 = 1`;

/** Between two turns: an import keeps up with the load, also on a busy machine. */
const pauseMillis = 10;

/** Writes to the source as a busy Dify does, until it is ended: messages begin without an answer, and get one later. */
export function startLoad(url: string): { end: () => Promise<number> } {
  let isEnding = false;
  const run = async (): Promise<number> => {
    const client = new pg.Client(url);
    await client.connect();
    let turns = 0;
    const now = `now() AT TIME ZONE 'UTC'`;
    try {
      for (let conversation = randomUUID(); !isEnding; turns += 1) {
        if (turns % 10 === 0) {
          conversation = randomUUID();
          await client.query(
            `INSERT INTO conversations (id, app_id, from_end_user_id, created_at, updated_at)
             VALUES ($1, '${ids.app}', '${ids.user}', ${now}, ${now})`,
            [conversation],
          );
        }
        const id = randomUUID();
        await client.query(
          `INSERT INTO messages (id, app_id, conversation_id, inputs, query, answer, created_at)
           VALUES ($1, '${ids.app}', $2, '{}', $3, '', ${now})`,
          [id, conversation, `question ${turns}`],
        );
        // The parts and the answer are committed together; other messages are read before that.
        await client.query('BEGIN');
        await client.query(
          `INSERT INTO message_agent_thoughts (id, message_id, position, thought) VALUES (gen_random_uuid(), $1, 1, 'Hm')`,
          [id],
        );
        await client.query(`UPDATE messages SET answer = $2, answer_tokens = 3 WHERE id = $1`, [id, `answer ${turns}`]);
        await client.query(`UPDATE conversations SET updated_at = ${now}, name = $2 WHERE id = $1`, [
          conversation,
          `name ${turns}`,
        ]);
        await client.query('COMMIT');
        if (turns % 4 === 0) {
          await client.query(
            `INSERT INTO message_feedbacks (message_id, rating, from_source, created_at, updated_at)
             VALUES ($1, 'like', 'user', ${now}, ${now})`,
            [id],
          );
        }
        await sleep(pauseMillis);
      }
      return turns;
    } finally {
      await client.end();
    }
  };
  const done = run();
  return {
    end: () => {
      isEnding = true;
      return done;
    },
  };
}
