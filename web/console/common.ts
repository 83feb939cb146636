/*
 * What more than one view needs, with all that it imports. It comes with `main.tsx`, so that a view is one more file. Only messages,
 * with the parser of Markdown, are a file of their own: two views need them, and the first view is a third smaller without them.
 */
import '../../server/src/contract/console/first-message.ts';
import './components/download.tsx';
import './keys/key-creation.tsx';
import './keys/key-page.tsx';
import './knowledge/cited-text.tsx';
import './knowledge/level.tsx';
import './knowledge/worst-texts.tsx';
import './overview/numbers.tsx';
import './overview/recent-problems.tsx';
import './overview/tables.tsx';
