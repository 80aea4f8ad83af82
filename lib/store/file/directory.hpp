// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "descriptor.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/stores/file.hpp>

#include <string>
#include <string_view>
#include <variant>

#include <sys/stat.h>

namespace tenure::file
{

/** The folders of one boot of the machine: `DIR/v1-<boot id>/{ranges,holders,wake}`. */
class Directory
{
public:
    /** Opens the folders, and makes those that are missing. */
    [[nodiscard]] static std::variant<Directory, Failure> open(FileConfig const& config);

    /** False: the directory was deleted or replaced, so that other processes use other files. */
    [[nodiscard]] bool is_same() const noexcept;

    /** Opens a file that exists already. Refuses what another user could have put there; `errno` is then EACCES. */
    [[nodiscard]] Descriptor open_file(Descriptor const& folder, std::string const& name, int flags) const;
    /** Makes a file with the access rights of the directory, whatever the umask. */
    [[nodiscard]] Descriptor create_file(Descriptor const& folder, std::string const& name) const;
    /** Makes a FIFO in the folder `wake`. */
    [[nodiscard]] bool create_fifo(std::string const& name) const;

    [[nodiscard]] Descriptor const& ranges() const noexcept { return ranges_; }
    [[nodiscard]] Descriptor const& holders() const noexcept { return holders_; }
    [[nodiscard]] Descriptor const& wake() const noexcept { return wake_; }
    /** The directory that the config names. */
    [[nodiscard]] std::string const& path() const noexcept { return path_; }
    /** "tmpfs", "ext4" ... */
    [[nodiscard]] std::string const& filesystem() const noexcept { return filesystem_; }
    [[nodiscard]] struct stat const& status() const noexcept { return root_; }

    /** Deletes the folders of earlier boots, whose keys are free. */
    void remove_earlier_boots() const;

private:
    Directory() = default;
    [[nodiscard]] std::variant<Descriptor, Failure> open_folder(int parent, std::string const& name, bool is_root);
    [[nodiscard]] bool is_trusted(struct stat const& found) const noexcept;
    [[nodiscard]] bool adapt(int descriptor, unsigned mode) const noexcept;

    std::string path_;
    /// `path_`/v1-<boot id>
    std::string boot_path_;
    std::string filesystem_;
    /// of `path_`: its owner and access rights are those of all files
    struct stat root_{};
    /// of `boot_path_`
    struct stat boot_{};
    Descriptor directory_;
    Descriptor ranges_;
    Descriptor holders_;
    Descriptor wake_;
};

} // namespace tenure::file
