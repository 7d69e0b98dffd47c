#include "profiling/address_space.h"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

namespace kollect::profiling {
namespace {

constexpr std::uint64_t kMostBytes = 1U << 30U;  ///< of one table

/// The note of the linker that tells builds apart.
std::string build_id_in(const char* notes, std::size_t size) {
  const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t whole = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
    if (whole > size) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes + sizeof note, "GNU", 4) == 0) {
      std::string id;
      const char* bytes = notes + sizeof note + padded(note.n_namesz);
      for (std::size_t i = 0; i < note.n_descsz; ++i) {
        id += fmt::format("{:02x}", static_cast<unsigned char>(bytes[i]));
      }
      return id;
    }
    notes += whole;
    size -= whole;
  }
  return {};
}

std::string path_of(const dl_phdr_info& info, bool first) {
  if (first) {
    std::error_code failed;
    auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? "/proc/self/exe" : path.string();
  }
  const std::string path = info.dlpi_name;
  return path.starts_with('/') ? path : "[vdso]";
}

int add_module(dl_phdr_info* info, std::size_t, void* data) {
  auto& modules = *static_cast<std::vector<Module>*>(data);
  Module module{.path = path_of(*info, modules.empty()),
                .build_id = {},
                .bias = info->dlpi_addr,
                .start = 0,
                .limit = 0,
                .file_offset = 0};
  constexpr std::uintptr_t kPage = 4096;
  for (ElfW(Half) i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const std::uintptr_t start = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_NOTE && module.build_id.empty()) {
      // The linker has mapped it; no other type could name its address.
      module.build_id = build_id_in(reinterpret_cast<const char*>(start), part.p_memsz);
    }
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0 || module.limit != 0) continue;
    const std::uintptr_t into_page = start % kPage;
    module.start = start - into_page;
    module.limit = (start + part.p_memsz + kPage - 1) / kPage * kPage;
    module.file_offset = part.p_offset - into_page;
  }
  modules.push_back(std::move(module));
  return 0;
}

bool read_at(std::ifstream& file, std::uint64_t offset, void* to, std::uint64_t size) {
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(static_cast<char*>(to), static_cast<std::streamsize>(size));
  return file.good();
}

std::optional<std::string> read_section(std::ifstream& file, const Elf64_Shdr& section) {
  if (section.sh_size > kMostBytes) return std::nullopt;
  std::string bytes(section.sh_size, '\0');
  if (!read_at(file, section.sh_offset, bytes.data(), bytes.size())) return std::nullopt;
  return bytes;
}

std::vector<Elf64_Shdr> sections_of(std::ifstream& file) {
  Elf64_Ehdr header;
  if (!read_at(file, 0, &header, sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_shentsize != sizeof(Elf64_Shdr)) {
    return {};
  }
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (!read_at(file, header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr))) {
    return {};
  }
  return sections;
}

}  // namespace

std::vector<Module> loaded_modules() {
  std::vector<Module> modules;
  dl_iterate_phdr(add_module, &modules);
  return modules;
}

Symbols Symbols::of_file(const std::string& path) {
  Symbols symbols;
  std::ifstream file(path, std::ios::binary);
  const std::vector<Elf64_Shdr> sections = sections_of(file);
  for (const Elf64_Word type : {SHT_SYMTAB, SHT_DYNSYM}) {
    const auto section = std::ranges::find(sections, type, &Elf64_Shdr::sh_type);
    if (section == sections.end() || section->sh_link >= sections.size()) continue;
    const auto table = read_section(file, *section);
    auto names = read_section(file, sections[section->sh_link]);
    if (!table || !names) continue;
    symbols.names_ = *std::move(names);
    symbols.take(*table);
    if (!symbols.empty()) break;
  }
  return symbols;
}

void Symbols::take(std::string_view table) {
  for (; table.size() >= sizeof(Elf64_Sym); table.remove_prefix(sizeof(Elf64_Sym))) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, table.data(), sizeof symbol);
    const auto kind = ELF64_ST_TYPE(symbol.st_info);
    if ((kind != STT_FUNC && kind != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
    if (symbol.st_name >= names_.size()) continue;
    functions_.push_back(
        {.start = symbol.st_value, .size = symbol.st_size, .name = symbol.st_name});
  }
  std::ranges::stable_sort(functions_, {}, &Function::start);
}

std::string Symbols::at(std::uint64_t address) const {
  const auto next = std::ranges::upper_bound(functions_, address, {}, &Function::start);
  if (next == functions_.begin()) return {};
  const Function& function = *std::prev(next);
  // Functions of assembly may have no size.
  if (function.size != 0 && address >= function.start + function.size) return {};
  return names_.c_str() + function.name;
}

std::string readable_name(const std::string& linked) {
  const std::string whole = linked.substr(0, linked.find('.', 1));
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(whole.c_str(), nullptr, nullptr, &failed), std::free);
  return failed == 0 && text ? text.get() : whole;
}

}  // namespace kollect::profiling
