//! Which file of a crate imports from which, read from its sources.
//!
//! Every `use` and every path in the code counts, also inside of macro calls; what is compiled for tests alone does
//! not. A name is followed through re-exports to the file that defines it, so a parent that only declares and
//! re-exports its children is no party to anything. What is not seen: methods, of which nobody imports anything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{Attribute, Item, UseTree};

/// From one file to another, by their paths below `src`.
pub(super) type Import = (String, String);

/// The imports between the files below a folder of sources.
pub(super) fn imports(source: &Path) -> BTreeSet<Import> {
    let root = ["lib.rs", "main.rs"].into_iter().map(|name| source.join(name)).find(|path| path.exists());
    let mut tree = Tree::default();
    if let Some(root) = root {
        let text = std::fs::read_to_string(&root).unwrap();
        let items =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", root.display())).items;
        tree.read(Vec::new(), &root, source, &items, source);
    }
    tree.imports()
}

#[derive(Default)]
struct Tree {
    modules: BTreeMap<Vec<String>, Module>,
}

#[derive(Default)]
struct Module {
    file: String,
    /// What it defines, child modules aside.
    names: BTreeSet<String>,
    uses: Vec<Use>,
    /// Paths in its code.
    paths: BTreeSet<Vec<String>>,
}

struct Use {
    path: Vec<String>,
    /// `None`: everything there is.
    name: Option<String>,
    is_reexport: bool,
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let text = list.tokens.to_string();
        list.path.is_ident("cfg") && (text == "test" || text.starts_with("all (test") || text == "doc")
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

/// Reads paths out of code.
#[derive(Default)]
struct Paths(BTreeSet<Vec<String>>);

impl<'ast> Visit<'ast> for Paths {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        self.tokens(item.mac.tokens.clone());
    }
}

impl Paths {
    /// Identifiers with two colons between them.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(word) => {
                    if colons != 2 {
                        self.0.insert(std::mem::take(&mut path));
                    }
                    path.push(word.to_string());
                    colons = 0;
                }
                TokenTree::Punct(sign) if sign.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.0.insert(std::mem::take(&mut path));
                    self.tokens(group.stream());
                    colons = 0;
                }
                _ => {
                    self.0.insert(std::mem::take(&mut path));
                    colons = 0;
                }
            }
        }
        self.0.insert(path);
    }
}

fn flatten(tree: &UseTree, before: &[String], is_reexport: bool, into: &mut Vec<Use>) {
    let longer = |word: String| [before, &[word]].concat();
    match tree {
        UseTree::Path(path) => flatten(&path.tree, &longer(path.ident.to_string()), is_reexport, into),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, is_reexport, into)),
        UseTree::Glob(_) => into.push(Use { path: before.to_vec(), name: None, is_reexport }),
        UseTree::Name(name) if name.ident == "self" => {
            into.push(Use { path: before.to_vec(), name: before.last().cloned(), is_reexport });
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            into.push(Use { path: longer(name.clone()), name: Some(name), is_reexport });
        }
        UseTree::Rename(rename) => into.push(Use {
            path: longer(rename.ident.to_string()),
            name: Some(rename.rename.to_string()),
            is_reexport,
        }),
    }
}

impl Tree {
    /// `folder`: where the files of child modules are.
    fn read(&mut self, path: Vec<String>, file: &Path, folder: &Path, items: &[Item], source: &Path) {
        let shown = file.strip_prefix(source).unwrap_or(file).display().to_string();
        let mut module = Module { file: shown, ..Module::default() };
        let mut code = Paths::default();
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            let name = match item {
                Item::Const(it) => &it.ident,
                Item::Enum(it) => &it.ident,
                Item::Fn(it) => &it.sig.ident,
                Item::Static(it) => &it.ident,
                Item::Struct(it) => &it.ident,
                Item::Trait(it) => &it.ident,
                Item::Type(it) => &it.ident,
                Item::Mod(it) => {
                    self.read_child(&path, file, folder, it, source);
                    continue;
                }
                Item::Use(it) => {
                    let is_reexport = !matches!(it.vis, syn::Visibility::Inherited);
                    flatten(&it.tree, &[], is_reexport, &mut module.uses);
                    continue;
                }
                other => {
                    code.visit_item(other);
                    continue;
                }
            };
            module.names.insert(name.to_string());
            code.visit_item(item);
        }
        module.paths = code.0;
        self.modules.insert(path, module);
    }

    fn read_child(
        &mut self,
        parent: &[String],
        file: &Path,
        folder: &Path,
        item: &syn::ItemMod,
        source: &Path,
    ) {
        let name = item.ident.to_string();
        let path = [parent, std::slice::from_ref(&name)].concat();
        if let Some((_, items)) = &item.content {
            return self.read(path, file, &folder.join(&name), items, source);
        }
        // A double that takes the place of a file in some builds has the names of that file.
        if item.attrs.iter().any(|attribute| attribute.path().is_ident("path")) {
            return;
        }
        let places: [PathBuf; 2] = [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")];
        let Some(found) = places.into_iter().find(|place| place.exists()) else {
            panic!("{}: no file for the module {name}", file.display())
        };
        let text = std::fs::read_to_string(&found).unwrap();
        let items =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", found.display())).items;
        self.read(path, &found, &folder.join(&name), &items, source);
    }

    fn imports(&self) -> BTreeSet<Import> {
        let mut found = BTreeSet::new();
        for (at, module) in &self.modules {
            let is_used =
                |name: &str| module.paths.iter().any(|path| path.first().is_some_and(|word| word == name));
            let uses = module
                .uses
                .iter()
                .filter(|used| !used.is_reexport || used.name.as_deref().is_some_and(is_used));
            let paths = uses.map(|used| &used.path).chain(module.paths.iter().filter(|path| path.len() > 1));
            for path in paths {
                if let Some(target) = self.resolve(at, path, 0) {
                    let to = &self.modules[&target].file;
                    if *to != module.file {
                        found.insert((module.file.clone(), to.clone()));
                    }
                }
            }
        }
        found
    }

    /// The module that defines what a path in a module leads to; `None` for what is of other crates.
    fn resolve(&self, at: &[String], path: &[String], depth: usize) -> Option<Vec<String>> {
        if depth > 20 {
            return None;
        }
        let mut here = at.to_vec();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => (here, rest) = (Vec::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {}
            _ => return self.find(at, rest, depth),
        }
        while rest.first().is_some_and(|word| word == "super") {
            here.pop();
            rest = &rest[1..];
        }
        if rest.is_empty() { Some(here) } else { self.find(&here, rest, depth) }
    }

    /// Follows names from a module on.
    fn find(&self, here: &[String], path: &[String], depth: usize) -> Option<Vec<String>> {
        let (word, rest) = path.split_first()?;
        let child = [here, std::slice::from_ref(word)].concat();
        if self.modules.contains_key(&child) {
            return if rest.is_empty() { Some(child) } else { self.find(&child, rest, depth + 1) };
        }
        let module = self.modules.get(here)?;
        if module.names.contains(word) {
            return Some(here.to_vec());
        }
        for used in &module.uses {
            let through = match &used.name {
                Some(name) if name == word => [&used.path[..], rest].concat(),
                Some(_) => continue,
                None => [&used.path[..], path].concat(),
            };
            // A name that is imported from another crate is of that crate.
            if used.name.is_some() && used.path.first() == Some(word) && used.path.len() == 1 {
                continue;
            }
            if let Some(found) = self.resolve(here, &through, depth + 1) {
                return Some(found);
            }
        }
        None
    }
}
