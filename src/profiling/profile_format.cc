#include "profiling/profile_format.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/gzip.h"
#include "profiling/address_space.h"

namespace kollect::profiling {
namespace {

/// A message of protocol buffers (protobuf.dev/programming-guides/encoding): varints and
/// length-delimited fields. Zero and "" are not written.
class Message {
 public:
  void number(std::uint32_t field, std::uint64_t value) {
    if (value == 0) return;
    varint(std::uint64_t{field} << 3U);
    varint(value);
  }
  /// Also when it is empty.
  void bytes(std::uint32_t field, std::string_view value) {
    varint((std::uint64_t{field} << 3U) | 2U);
    varint(value.size());
    text_ += value;
  }
  template <class Numbers>
  void packed(std::uint32_t field, const Numbers& numbers) {
    Message inner;
    for (const auto number : numbers) inner.varint(static_cast<std::uint64_t>(number));
    bytes(field, inner.text_);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) text_ += static_cast<char>((value & 0x7fU) | 0x80U);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

/// The numbers of fields, per message of profile.proto.
namespace profile_field {
enum : std::uint32_t {
  kSampleType = 1,
  kSample,
  kMapping,
  kLocation,
  kFunction,
  kStringTable,
  kDropFrames,
  kKeepFrames,
  kTimeNanos,
  kDurationNanos,
  kPeriodType,
  kPeriod,
  kComment,
  kDefaultSampleType,
};
}
namespace mapping_field {
enum : std::uint32_t { kId = 1, kStart, kLimit, kOffset, kFilename, kBuildId, kHasFunctions };
}

class Encoder {
 public:
  std::string run(const Profile& profile);

 private:
  std::uint64_t text(const std::string& value) {
    const auto [at, fresh] = texts_.try_emplace(value, texts_.size());
    if (fresh) out_.bytes(profile_field::kStringTable, value);
    return at->second;
  }
  std::string value_type(const ValueType& type) {
    Message message;
    message.number(1, text(type.type));
    message.number(2, text(type.unit));
    return message.text();
  }
  [[nodiscard]] std::optional<std::size_t> module_of(std::uintptr_t address) const {
    const auto found = std::ranges::find_if(modules_, [&](const Module& module) {
      return address >= module.start && address < module.limit;
    });
    if (found == modules_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - modules_.begin());
  }
  const Symbols& symbols_of(std::size_t module);
  std::uint64_t location(std::uintptr_t address);
  std::uint64_t function(const std::string& linked);
  void mappings();

  Message out_;
  std::unordered_map<std::string, std::uint64_t> texts_;
  const std::vector<Module> modules_ = loaded_modules();
  std::map<std::size_t, Symbols> symbols_;  ///< by place in `modules_`
  std::unordered_map<std::uintptr_t, std::uint64_t> locations_;
  std::unordered_map<std::string, std::uint64_t> functions_;
};

const Symbols& Encoder::symbols_of(std::size_t module) {
  const auto known = symbols_.find(module);
  if (known != symbols_.end()) return known->second;
  // The program's own file may have been replaced since it was started; this names the old one.
  const std::string& path = module == 0 ? "/proc/self/exe" : modules_[module].path;
  return symbols_.emplace(module, Symbols::of_file(path)).first->second;
}

std::uint64_t Encoder::function(const std::string& linked) {
  const auto [at, fresh] = functions_.try_emplace(linked, functions_.size() + 1);
  if (fresh) {
    Message message;
    message.number(1, at->second);
    message.number(2, text(readable_name(linked)));
    message.number(3, text(linked));
    out_.bytes(profile_field::kFunction, message.text());
  }
  return at->second;
}

std::uint64_t Encoder::location(std::uintptr_t address) {
  const auto [at, fresh] = locations_.try_emplace(address, locations_.size() + 1);
  if (!fresh) return at->second;
  Message message;
  message.number(1, at->second);
  if (const auto module = module_of(address)) {
    message.number(2, *module + 1);
    message.number(3, address);
    const std::string linked = symbols_of(*module).at(address - modules_[*module].bias);
    if (!linked.empty()) {
      Message line;
      line.number(1, function(linked));
      message.bytes(4, line.text());
    }
  } else {
    message.number(3, address);
  }
  out_.bytes(profile_field::kLocation, message.text());
  return at->second;
}

void Encoder::mappings() {
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    const auto symbols = symbols_.find(i);
    // The first one is the program, whether or not it has samples.
    if (i != 0 && symbols == symbols_.end()) continue;
    const Module& module = modules_[i];
    Message message;
    message.number(mapping_field::kId, i + 1);
    message.number(mapping_field::kStart, module.start);
    message.number(mapping_field::kLimit, module.limit);
    message.number(mapping_field::kOffset, module.file_offset);
    message.number(mapping_field::kFilename, text(module.path));
    message.number(mapping_field::kBuildId, text(module.build_id));
    const bool named = symbols != symbols_.end() && !symbols->second.empty();
    message.number(mapping_field::kHasFunctions, named ? 1 : 0);
    out_.bytes(profile_field::kMapping, message.text());
  }
}

std::string Encoder::run(const Profile& profile) {
  text("");  // the table begins with it
  for (const ValueType& type : profile.types) {
    out_.bytes(profile_field::kSampleType, value_type(type));
  }
  for (const Sample& sample : profile.samples) {
    std::vector<std::uint64_t> ids;
    for (std::size_t i = 0; i < sample.stack.depth; ++i) {
      ids.push_back(location(sample.stack.frames[i]));
    }
    Message message;
    message.packed(1, ids);
    message.packed(2, sample.values);
    out_.bytes(profile_field::kSample, message.text());
  }
  mappings();
  out_.number(profile_field::kDropFrames, text(profile.drop_frames));
  out_.number(profile_field::kTimeNanos,
              static_cast<std::uint64_t>(profile.time.time_since_epoch().count()));
  out_.number(profile_field::kDurationNanos, static_cast<std::uint64_t>(profile.duration.count()));
  out_.bytes(profile_field::kPeriodType, value_type(profile.period_type));
  out_.number(profile_field::kPeriod, static_cast<std::uint64_t>(profile.period));
  if (!profile.comment.empty()) out_.number(profile_field::kComment, text(profile.comment));
  out_.number(profile_field::kDefaultSampleType, text(profile.default_type));
  return base::gzip(out_.text());
}

}  // namespace

std::string encode(const Profile& profile) {
  return Encoder().run(profile);
}

}  // namespace kollect::profiling
