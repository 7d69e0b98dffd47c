// Which file and which function an address belongs to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kollect::profiling {

/// A file of code (program or library) in memory.
struct Module {
  std::string path;      ///< "[vdso]" for the one without a file
  std::string build_id;  ///< in hex; may be empty
  std::uintptr_t bias;   ///< address less what the file says
  // Its executable part:
  std::uintptr_t start;
  std::uintptr_t limit;
  std::uint64_t file_offset;
};

/// What the dynamic linker has loaded, the program itself first.
std::vector<Module> loaded_modules();

/// The functions of an ELF file of 64 bits (System V ABI, generic part, chapter 4), from its symbol
/// table or, where that has been stripped, from the table of what it exports.
class Symbols {
 public:
  /// None when the file cannot be read or is not what it should be.
  static Symbols of_file(const std::string& path);
  /// Name as linked ("_ZN3foo3barEv") of the function at an address of the file; "" for none.
  [[nodiscard]] std::string at(std::uint64_t address) const;
  [[nodiscard]] bool empty() const { return functions_.empty(); }

 private:
  void take(std::string_view table);

  struct Function {
    std::uint64_t start;
    std::uint64_t size;
    std::uint32_t name;  ///< its place in `names_`
  };
  std::vector<Function> functions_;  ///< by start
  std::string names_;
};

/// "foo::bar()" for "_ZN3foo3barEv"; parts that the compiler has split off a function get its name.
std::string readable_name(const std::string& linked);

}  // namespace kollect::profiling
