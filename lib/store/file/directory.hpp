// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "layout.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/errc.hpp>
#include <tenure/stores/file.hpp>

#include <exception>

#include <string>
#include <vector>

#include <sys/stat.h>

namespace tenure::file
{

/** Ends a request with a failure that changed nothing. */
struct Failed : std::exception {
    Failed(errc error, std::string const& why, bool fatal)
        : failure(Failure::refused(error, why, fatal))
    {
    }
    Failure failure;
};

/** What an exception means for a request, which has changed nothing. Called while it is handled; throws it again if it
 *  is not about the store. */
[[nodiscard]] Failure failure_of(std::exception const& error);

/** The folders of one boot of the machine: `DIR/v1-<boot id>/{ranges,holders,wake}`. */
class Directory
{
public:
    /** Opens the folders, and makes those that are missing. Deletes those of earlier boots, whose keys are free.
     *  @throws Failed, std::runtime_error */
    explicit Directory(FileConfig const& config);

    /** False: the directory was deleted or replaced, so that other processes use other files. */
    [[nodiscard]] bool is_same() const noexcept;
    /** Opens a file that exists already. Refuses what another user could have put there; `errno` is then EACCES. */
    [[nodiscard]] Descriptor open_file(Descriptor const& folder, std::string const& name, int flags) const;
    /** Makes an empty file, which appears under its name when its access rights are set, whatever the umask, and when
     * it is locked as a whole. No effect if the name is taken.
     *  @param draft  its name until then */
    [[nodiscard]] Descriptor
    create_file(Descriptor const& folder, std::string const& name, std::string const& draft) const;
    void remove_holder(std::string const& name) const noexcept;
    /** Makes a FIFO in `wake`, and opens it for both directions: without writers it would be at its end all the time.
     */
    [[nodiscard]] Descriptor create_fifo(std::string const& name) const;

    /** the directory that the config names */
    std::string path;
    /** "tmpfs", "ext4" ... */
    std::string filesystem;
    /** of `path`: its owner and access rights are those of all files */
    struct stat root{};
    Descriptor ranges;
    Descriptor holders;
    Descriptor wake;

private:
    [[nodiscard]] Descriptor open_folder(Descriptor const& parent, std::string const& name) const;
    [[nodiscard]] bool is_trusted(struct stat const& found) const noexcept;
    void adapt(Descriptor const& made, unsigned mode) const;
    void remove_earlier_boots() const;

    /// `path`/v1-<boot id>, and its status
    std::string boot_path_;
    struct stat boot_{};
};

} // namespace tenure::file
