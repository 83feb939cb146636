import type { ComponentChildren, TargetedSubmitEvent } from 'preact';
import { limits } from '../../../server/src/contract/limits.ts';
import { Button, Field } from '../../shared/controls.tsx';
import { useAttempt } from '../hooks/requests.ts';
import { Dialog, ErrorNote } from './ui.tsx';

type Props = {
  title: string;
  action: string;
  look?: string;
  isReady?: boolean;
  /** The safe choice has the focus first. */
  focusesCancel?: boolean;
  run: (values: FormData) => Promise<void>;
  close: () => void;
  children?: ComponentChildren;
};

/** A dialog with one action and a way out. It stays open, with the error, if the action fails. */
export function ActionDialog(props: Props) {
  const { title, action, look = 'primary', isReady = true, focusesCancel = false, run, close, children } = props;
  const { error, isBusy, attempt } = useAttempt();
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const values = new FormData(event.currentTarget);
    return attempt(() => run(values));
  };
  return (
    <Dialog title={title} close={close}>
      <form class="stack" onSubmit={submit}>
        {children}
        <ErrorNote error={error} />
        <div class="row">
          <button type="submit" class={look} disabled={isBusy || !isReady}>
            {action}
          </button>
          <Button autoFocus={focusesCancel} onClick={close}>
            Cancel
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

type RenameProps = { title: string; name: string; rename: (name: string) => Promise<void>; close: () => void };

export const RenameDialog = ({ title, name, rename, close }: RenameProps) => (
  <ActionDialog
    title={title}
    action="Rename"
    run={async (values) => {
      await rename(nameIn(values));
      close();
    }}
    close={close}
  >
    <NameField defaultValue={name} />
  </ActionDialog>
);

/** The field `name` of a form, which may not be blank. */
export const NameField = ({ label = 'Name', maxLength = limits.idUnitsMax, ...props }: NameFieldProps) => (
  <Field {...props} label={label} name="name" required pattern={'.*\\S.*'} maxLength={maxLength} autoComplete="off" />
);
type NameFieldProps = { label?: string; maxLength?: number; defaultValue?: string; placeholder?: string };

export const nameIn = (values: FormData): string => String(values.get('name') ?? '').trim();
