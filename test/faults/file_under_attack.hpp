// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store_under_attack.hpp"

#include "harness/scratch_directory.hpp"

#include <store/file/directory.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tenure::faults
{

/** A directory on a file system in memory. It has no server: what is done to it is done to its files. */
class FileUnderAttack final : public StoreUnderAttack
{
public:
    explicit FileUnderAttack(Arena const& arena)
        : arena_(arena)
    {
    }

    [[nodiscard]] std::string url(std::size_t worker) const override;
    [[nodiscard]] std::vector<Disturbance> disturbances() override;
    [[nodiscard]] std::optional<std::vector<KeyLook>> look() override;
    [[nodiscard]] std::int64_t expiry_delay(std::int64_t) const override { return 0; }
    [[nodiscard]] std::vector<std::string> endless_keys() override { return {}; }

private:
    [[nodiscard]] std::string path() const { return scratch_.file("leases"); }
    [[nodiscard]] FileConfig config() const { return {path()}; }
    [[nodiscard]] KeyLook look_at(std::uint32_t cell, OtherHolders& holders) const;
    bool replace_directory(Attack& attack);
    bool delete_files(Attack& attack, char const* folder);
    bool keep_lock(Attack& attack, bool briefly);
    bool spoil_line(Attack& attack);

    Arena arena_;
    test::ScratchDirectory scratch_;
    /// of `look`
    std::optional<file::Directory> view_;
    /// directories that were moved away
    unsigned moved_ = 0;
};

} // namespace tenure::faults
