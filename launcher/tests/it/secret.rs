//! The secret that the launcher makes: every rank has it, and no environment.

use crate::common::{finish, script};

/// Runs `body` by `bash` on two ranks; `$joins` in it forms a world of them, as any program would.
fn ranks(body: &str) -> crate::common::Finished {
    let joins = format!("{} info --join", env!("CARGO_BIN_EXE_ringworld"));
    finish(script(&["-n", "2"], &format!("exec bash -c '{body}'")).env("joins", joins))
}

#[test]
fn the_secret_of_a_job_is_in_no_environment() {
    let job = ranks("! tr \"\\0\" \"\\n\" </proc/$$/environ | grep -E \"[0-9a-f]{64}\" && exec $joins");
    assert_eq!(job.code, Some(0), "{}{}", job.out, job.err);
}

#[test]
fn a_rank_that_a_script_starts_late_and_not_first_has_the_secret() {
    let job = ranks("${joins% --join} >/dev/null && (sh -c \"$joins\") && exit 0");
    assert_eq!(job.code, Some(0), "{}{}", job.out, job.err);
}

#[test]
fn a_rank_whose_parent_closes_descriptors_has_the_secret() {
    let job = ranks("(eval \"exec $RINGWORLD_SECRET_FD>&-\"; exec $joins); exit $?");
    assert_eq!(job.code, Some(0), "{}{}", job.out, job.err);
}

#[test]
fn a_rank_that_cannot_have_the_secret_is_told_why() {
    // What stands at the number afterwards is not taken for it either.
    for to in ["&-", "/dev/null", "&1"] {
        let job = ranks(&format!("eval \"exec $RINGWORLD_SECRET_FD>{to}\"; exec $joins"));
        assert_ne!(job.code, Some(0), "{}", job.out);
        for part in ["RINGWORLD_SECRET_FD", "close_fds=False", "RINGWORLD_SECRET_FILE"] {
            assert!(job.err.contains(part), "{}", job.err);
        }
    }
}
