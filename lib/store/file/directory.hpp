// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "files/holder.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/stores/file.hpp>

#include <exception>
#include <string>

namespace tenure::file
{

/** What an exception means for a request, which has changed nothing. Called while it is handled; throws it again if it
 *  is not about the store. */
[[nodiscard]] Failure failure_of(std::exception const& error);

/** The folders of one boot of the machine: `DIR/v1-<boot id>/{ranges,holders,wake}`. */
class Directory : public SharedDirectory
{
public:
    /** Opens the folders, and makes those that are missing. */
    explicit Directory(FileConfig const& config);

    /** Deletes the folders of earlier boots, whose keys are free. Call it once this process has a holder file: of two
     *  that see different IDs of this boot, the later one finds the other.
     *  @throws std::runtime_error if there is another one */
    void clear_other_boots() const;

    /** False: the directory was deleted or replaced, so that other processes use other files. */
    [[nodiscard]] bool is_same() const noexcept;
    [[nodiscard]] HolderFolders folders() const noexcept { return {*this, holders, wake}; }

    FileSystem const file_system;
    std::string const boot_name;
    Descriptor const boot;
    Descriptor const ranges;
    Descriptor const holders;
    Descriptor const wake;

private:
    std::string const boot_path_ = path + "/" + boot_name;
    struct stat const boot_status_ = boot.status();
};

} // namespace tenure::file
