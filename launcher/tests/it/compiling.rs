//! `ringworld mpi install`, and `ringworld cc` with what it has put in place. The library is no library here, and the
//! compiler no compiler: what real ones do is tested by tests/mpi.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::finish;

/// A folder of this process's with this program and a library that was built.
fn place(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::hard_link(env!("CARGO_BIN_EXE_ringworld"), folder.join("ringworld")).unwrap();
    fs::write(folder.join("libmpi_abi.so"), "a library").unwrap();
    folder
}

fn ringworld(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(folder.join("ringworld"));
    command.args(arguments).env("CC", "echo");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn what_is_installed_is_what_the_compiler_is_told_of() {
    let folder = place("compiling-installed");
    let installed = finish(&mut ringworld(&folder, &["mpi", "install"]));
    assert_eq!(installed.code, Some(0), "{}", installed.err);
    let library = folder.join("mpi");
    for part in ["libmpi_abi.so.1", "libmpi_abi.so", "include/mpi.h", "pkgconfig/ringworld-mpi.pc"] {
        assert!(library.join(part).is_file(), "{part} is not there");
        assert!(installed.out.contains(part), "{}", installed.out);
    }
    let header = fs::read_to_string(library.join("include/mpi.h")).unwrap();
    assert!(header.contains("int MPI_Send("), "{header}");

    let at = library.display();
    let told = finish(&mut ringworld(&folder, &["cc", "-O2", "-o", "a b", "a.c"]));
    assert_eq!(told.out, format!("-I{at}/include -O2 -o a b a.c -L{at} -Wl,-rpath,{at} -lmpi_abi\n"));
    let shown = finish(ringworld(&folder, &["c++", "--show", "-c", "a.cc"]).env("CXX", "g++ -m64"));
    assert_eq!(shown.out, format!("g++ -m64 -I{at}/include -c a.cc\n"));
    // By the names that builds of programs know.
    let mut mpicc = Command::new(library.join("bin/mpicc"));
    mpicc.args(["-c", "a b.c"]).env("CC", "echo");
    mpicc.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let told = finish(&mut mpicc);
    assert_eq!(told.out, format!("-I{at}/include -c a b.c\n"), "{}", told.err);
    let failed = finish(ringworld(&folder, &["cc", "a.c"]).env("CC", "false"));
    assert_eq!(failed.code, Some(1));
    // What is installed already is installed again.
    assert_eq!(finish(&mut ringworld(&folder, &["mpi", "install"])).code, Some(0));
}

#[test]
fn what_is_lacking_is_named() {
    let folder = place("compiling-lacking");
    let said = |command: &mut Command| {
        let finished = finish(command);
        assert_eq!(finished.code, Some(127), "{}{}", finished.out, finished.err);
        finished.err
    };
    let library = said(&mut ringworld(&folder, &["cc", "a.c"]));
    assert!(library.contains("no libmpi_abi.so.1") && library.contains("ringworld mpi install"), "{library}");
    assert_eq!(finish(&mut ringworld(&folder, &["mpi", "install"])).code, Some(0));
    fs::remove_file(folder.join("mpi/include/mpi.h")).unwrap();
    let header = said(&mut ringworld(&folder, &["c++", "a.cc"]));
    assert!(header.contains("mpi/include/mpi.h") && header.contains("ringworld mpi install"), "{header}");
    assert_eq!(finish(&mut ringworld(&folder, &["mpi", "install"])).code, Some(0));
    let compiler = said(ringworld(&folder, &["cc", "a.c"]).env("CC", "no-such-compiler"));
    assert!(compiler.contains("no-such-compiler") && compiler.contains("CC"), "{compiler}");
}

#[test]
fn an_environment_of_pythons_has_the_header_in_its_own_place() {
    let folder = place("compiling-environment");
    fs::create_dir(folder.join("v")).unwrap();
    fs::write(folder.join("v/pyvenv.cfg"), "").unwrap();
    let environment = folder.join("v").display().to_string();
    assert_eq!(finish(&mut ringworld(&folder, &["mpi", "install", "--venv", &environment])).code, Some(0));
    for part in ["lib/libmpi_abi.so.1", "include/mpi.h", "lib/pkgconfig/ringworld-mpi.pc"] {
        assert!(folder.join("v").join(part).is_file(), "{part} is not there");
    }
}
