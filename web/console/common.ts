/* What more than one view needs. It comes with `main.ts`, so that a view is one more file. */
import '../../server/src/contract/rules.ts';
import './activity/activity.ts';
import './components/download.ts';
import './components/filters.ts';
import './components/marked-text.ts';
import './components/period-fields.ts';
import './components/table.ts';
import './hooks/use-media.ts';
import './hooks/use-record.ts';
import './hooks/use-settled.ts';
import './keys/key-labels.ts';
import './knowledge/level.ts';
import './overview/health.ts';
import './overview/plot.ts';
